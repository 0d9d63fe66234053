package cli

import (
	"context"
	"fmt"

	"github.com/mcpctl/mcpctl/cmd/mcpctl/internal/config"
	"github.com/spf13/cobra"
)

func newConfigCmd(app *App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Look after the configuration",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newConfigTrustCmd(app))
	return cmd
}

const configTrustLong = `Accepts the configuration that is found here, with its present content.

A configuration that is found rather than named, lies in a checkout and would
start commands, or put environment variables into URLs or headers, is used only
after a person has accepted it. What it would do is printed. When its content
changes, it has to be accepted again.`

const configTrustExample = `  # Accept the mcp.json of this checkout
  mcpctl config trust

  # Accept that of another one
  mcpctl config trust ../other/mcp.json`

func newConfigTrustCmd(app *App) *cobra.Command {
	return &cobra.Command{
		Use:     "trust [file]",
		Short:   "Accept a configuration that was found",
		Long:    configTrustLong,
		Example: configTrustExample,
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			named := app.flags.config
			if len(args) > 0 {
				named = args[0]
			}
			return runConfigTrust(cmd.Context(), app, named)
		},
	}
}

func runConfigTrust(ctx context.Context, app *App, named string) error {
	file, err := config.Find(named, app.configOptions())
	if err != nil {
		return err
	}
	// It is accepted for when it will be found, which a named one is not.
	file.Found = config.Upward
	cfg, err := await(ctx, func() (*config.Config, error) { return config.Load(file, app.configOptions()) })
	if err != nil {
		return err
	}
	reasons := cfg.NeedsTrust()
	if len(reasons) == 0 {
		fmt.Fprintf(app.Err, "%s starts nothing and needs not to be accepted\n", file.Name)
		return nil
	}
	for _, reason := range reasons {
		fmt.Fprintf(app.Err, "  may %s\n", reason)
	}
	if err := app.trustStore().Trust(ctx, cfg); err != nil {
		return err
	}
	fmt.Fprintf(app.Err, "%s is accepted until its content changes\n", file.Name)
	return nil
}
