package cli

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/ambit-dev/ambit/pkg/internal/version"
)

// versionOptions are the flags of `ambit version`.
type versionOptions struct {
	genericiooptions.IOStreams
	// Output is "", json or yaml.
	Output string
}

// versionInfo is what `ambit version -o json` prints.
type versionInfo struct {
	Version   string `json:"version"`
	GoVersion string `json:"goVersion"`
	Platform  string `json:"platform"`
}

func newVersionCommand(streams genericiooptions.IOStreams) *cobra.Command {
	o := &versionOptions{IOStreams: streams}
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version of this program",
		Example: indentExample(`
# One line
ambit version

# For a program
ambit version -o json`),
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error { return o.Run() },
	}
	addOutputFlag(cmd.Flags(), &o.Output, "json", "yaml")
	return cmd
}

// Run prints the version.
func (o *versionOptions) Run() error {
	if o.Output == "" {
		_, err := fmt.Fprintf(o.Out, "ambit %s\n", version.String())
		return err
	}
	return printData(o.Out, o.Output, versionInfo{
		Version:   version.String(),
		GoVersion: runtime.Version(),
		Platform:  runtime.GOOS + "/" + runtime.GOARCH,
	})
}
