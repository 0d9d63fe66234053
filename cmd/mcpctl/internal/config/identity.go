package config

// Identity says what a server is, as it is written: where it is configured,
// its name, and what it starts or reaches, before any variable is expanded.
// Values of headers and of the environment are not part of it. It is nil for a
// name that is not configured.
func (c *Config) Identity(name string) []string {
	e, ok := c.servers[name]
	if !ok {
		return nil
	}
	s := e.checked
	return append([]string{"configured", c.identity().Path, name, s.command, s.cwd, s.url}, s.args...)
}
