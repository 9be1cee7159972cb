package main

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// narrator tells what the demo does and sees, in lines.
type narrator struct{ out io.Writer }

// say writes a line below the present step.
func (n narrator) say(format string, args ...any) {
	fmt.Fprintf(n.out, "   "+format+"\n", args...)
}

// command writes what a person would type to do the same.
func (n narrator) command(format string, args ...any) {
	fmt.Fprintf(n.out, "   $ "+format+"\n", args...)
}

// show writes the output of a command, indented.
func (n narrator) show(text string) {
	for _, line := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		fmt.Fprintf(n.out, "     %s\n", strings.TrimRight(line, " "))
	}
}

// title begins a step.
func (n narrator) title(number int, text string) {
	fmt.Fprintf(n.out, "\n%d. %s\n", number, text)
}

// took ends a step.
func (n narrator) took(d time.Duration) { fmt.Fprintf(n.out, "   (%s)\n", seconds(d)) }

// seconds shows a duration as people say it.
func seconds(d time.Duration) string {
	if d < time.Second {
		return fmt.Sprintf("%d ms", d.Milliseconds())
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}
