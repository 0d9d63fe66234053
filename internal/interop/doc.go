// Package interop tests mcpctl against servers that others wrote: the
// reference servers from npm, in the versions that testdata/interop locks,
// run by the Node.js that is locked beside them. It has no code of its own
// and nothing imports it.
//
// Without the peers the tests are skipped, unless MCPCTL_REQUIRE_INTEROP=1
// says that they must run; `make peers` installs them.
package interop
