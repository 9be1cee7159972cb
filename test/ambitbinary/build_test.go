package ambitbinary

import (
	"os"
	"strings"
	"testing"
)

// TestFlags: the Makefile and the Dockerfile build the program with the flags that tests build it with.
func TestFlags(t *testing.T) {
	for file, quote := range map[string]string{"../../Makefile": "'", "../../Dockerfile": `"`} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		flags := ""
		for _, flag := range apiTypes {
			flags += strings.Replace(flag, "=", "="+quote, 1) + quote + " "
		}
		if want := strings.TrimSpace(flags); strings.Count(string(text), want) != 1 || strings.Count(string(text), "-gcflags") != len(apiTypes) {
			t.Errorf("%s has not, alone and once, %s", file, want)
		}
	}
}
