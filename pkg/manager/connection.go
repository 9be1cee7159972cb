package manager

import (
	"errors"
	"net"

	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// isConnectionError reports whether a request failed because the server was not reached, or the connection
// was lost, in a way that may be over soon: it starts or stops, or is slow. A certificate that is not trusted, or a name
// that does not exist, is not.
func isConnectionError(err error) bool {
	var failure net.Error
	if errors.As(err, &failure) && failure.Timeout() {
		return true
	}
	var lookup *net.DNSError
	if errors.As(err, &lookup) && lookup.IsTemporary {
		return true
	}
	return utilnet.IsConnectionRefused(err) || utilnet.IsConnectionReset(err) || utilnet.IsHTTP2ConnectionLost(err) || utilnet.IsProbableEOF(err)
}
