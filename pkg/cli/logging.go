package cli

import (
	"flag"
	"io"
	"strings"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
	"go.uber.org/zap/zapcore"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
)

// logging are the zap flags that operators on controller-runtime have. Not
// given, they mean: level info, one readable line an entry, times as RFC 3339.
type logging struct {
	options zap.Options
	flags   *flag.FlagSet
}

func newLogging() *logging {
	l := &logging{flags: flag.NewFlagSet("zap", flag.ContinueOnError)}
	l.options.BindFlags(l.flags)
	return l
}

// addFlags adds the zap flags to flags.
func (l *logging) addFlags(flags *pflag.FlagSet) {
	flags.AddGoFlagSet(l.flags)
	for name, value := range map[string]string{"zap-encoder": "console", "zap-time-encoding": "rfc3339"} {
		f := flags.Lookup(name)
		if err := f.Value.Set(value); err != nil {
			panic("cli: zap refuses its own value: " + err.Error()) // a programmer's error
		}
		f.DefValue = value
		f.Usage = strings.TrimSuffix(f.Usage, " Defaults to 'epoch'.")
	}
	level := flags.Lookup("zap-log-level")
	level.Usage += ". More than 5 is as 5: the content of objects is never logged"
}

// mostVerbose is V(5). From V(8) on client-go logs what it sends and receives: Secrets too.
const mostVerbose = zapcore.Level(-5)

// newLogger returns the logger that the flags describe; it writes to w. It is never more
// verbose than mostVerbose.
func (l *logging) newLogger(w io.Writer) logr.Logger {
	if level := l.options.Level; level != nil && level.Enabled(mostVerbose-1) {
		l.options.Level = mostVerbose
	}
	return zap.New(zap.UseFlagOptions(&l.options), zap.WriteTo(w))
}
