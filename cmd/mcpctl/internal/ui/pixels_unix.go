//go:build unix

package ui

import (
	"image"

	"golang.org/x/sys/unix"
)

// pixelSize returns the size of a terminal without its last two lines, zero if
// it is not known.
func pixelSize(fd uintptr) image.Point {
	size, err := unix.IoctlGetWinsize(int(fd), unix.TIOCGWINSZ)
	if err != nil || size.Row < 3 {
		return image.Point{}
	}
	return image.Pt(int(size.Xpixel), int(size.Ypixel)/int(size.Row)*(int(size.Row)-2))
}
