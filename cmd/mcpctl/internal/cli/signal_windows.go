package cli

import "golang.org/x/sys/windows"

func ignoreFileSizeSignal() {}

func catchPipeSignal() {}

// brokenPipe are the errors of writing to a pipe that nobody reads.
var brokenPipe = []error{windows.ERROR_BROKEN_PIPE, windows.ERROR_NO_DATA}
