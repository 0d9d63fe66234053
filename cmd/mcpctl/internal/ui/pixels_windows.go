package ui

import "image"

// pixelSize does not know.
func pixelSize(uintptr) image.Point { return image.Point{} }
