package cli

import (
	"fmt"
	"io"
	"time"
)

// progressEvery is how long a command is silent at most while it waits.
const progressEvery = time.Second

// progress writes what text returns to w each second, unless it is empty, until stop is
// called, which returns when no more is written. text is called in another
// goroutine. What takes less than a second writes nothing.
func progress(w io.Writer, text func() string) (stop func()) {
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(progressEvery)
		defer ticker.Stop()
		for {
			select {
			case <-end:
				return
			case <-ticker.C:
				if now := text(); now != "" {
					fmt.Fprintln(w, now)
				}
			}
		}
	}()
	return func() {
		close(end)
		<-ended
	}
}
