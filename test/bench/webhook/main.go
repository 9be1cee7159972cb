package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"time"

	"github.com/ambit-dev/ambit/test/bench/program"
)

func main() {
	address := flag.String("address", "127.0.0.1:9990", "where it listens")
	flag.Parse()
	program.Main("bench-webhook", func(ctx context.Context) error { return serve(ctx, *address) })
}

// serve answers hooks until ctx ends.
func serve(ctx context.Context, address string) error {
	server := &http.Server{Addr: address, Handler: newHandler(), ReadHeaderTimeout: time.Minute}
	stop := context.AfterFunc(ctx, func() { server.Close() })
	defer stop()
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving at %s: %w", address, err)
	}
	return nil
}

// newHandler answers the hooks of composite.yaml.
func newHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /sync", hookFor(syncOwner))
	mux.HandleFunc("POST /customize", hookFor(customizeOwner))
	return mux
}

// hookFor is the handler of a hook that answers requests of a type.
func hookFor[Request, Answer any](answer func(Request) Answer) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var request Request
		if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(answer(request)); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	}
}
