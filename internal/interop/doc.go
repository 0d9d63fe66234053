// Package interop tests mcpctl against what others wrote: the reference
// servers from npm, servers on two SDKs for Node.js (in testdata/interop, each
// speaking what its SDK can), and the official conformance suite, in the
// versions that testdata/interop locks, run by the Node.js that is locked
// beside them. It has no code of its own and nothing imports it.
//
// Without the peers the tests are skipped, unless MCPCTL_REQUIRE_INTEROP=1
// says that they must run; `make peers` installs them.
package interop
