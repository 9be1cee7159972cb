package cli

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/ambit-dev/ambit/pkg/internal/typedclient"
	"github.com/ambit-dev/ambit/pkg/permissions"
	"github.com/ambit-dev/ambit/pkg/uninstall"
)

// requestTimeout bounds each request of a command that ends.
const requestTimeout = 30 * time.Second

// cluster is the API server, as the one who called the command. Errors of its
// methods are those of the cluster.
type cluster struct {
	config  *rest.Config
	typed   *typedclient.Clients
	objects dynamic.Interface
	mapper  meta.RESTMapper
}

// connectCluster prepares clients. Requests are not limited on this side.
func connectCluster(flags *clusterFlags) (*cluster, error) {
	c, err := newClients(flags)
	if err != nil {
		return nil, clusterError(err)
	}
	return c, nil
}

func newClients(flags *clusterFlags) (*cluster, error) {
	config, err := flags.restConfig()
	if err != nil {
		return nil, err
	}
	config.QPS, config.Timeout = -1, requestTimeout
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("preparing the connection to %s: %w", config.Host, err)
	}
	c := &cluster{config: config}
	if c.typed, err = typedclient.NewForConfigAndClient(config, httpClient); err != nil {
		return nil, err
	}
	if c.objects, err = dynamic.NewForConfigAndClient(config, httpClient); err != nil {
		return nil, fmt.Errorf("preparing the client for objects: %w", err)
	}
	if c.mapper, err = apiutil.NewDynamicRESTMapper(config, httpClient); err != nil {
		return nil, fmt.Errorf("preparing discovery: %w", err)
	}
	return c, nil
}

// permissionsCluster is the cluster as package permissions sees it.
func (c *cluster) permissionsCluster() permissions.Cluster {
	return permissions.Cluster{Config: c.config, Typed: c.typed, Objects: c.objects, Mapper: c.mapper}
}

// newScan prepares what looks for leftovers in namespaces; in all if there are none.
func (c *cluster) newScan(namespaces ...string) (uninstall.Scan, error) {
	config := rest.CopyConfig(c.config)
	config.WarningHandler = rest.NoWarnings{} // of kinds that are deprecated: it only looks at them
	objects, err := metadata.NewForConfig(config)
	if err != nil {
		return uninstall.Scan{}, clusterError(fmt.Errorf("preparing the client for metadata: %w", err))
	}
	server, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return uninstall.Scan{}, clusterError(fmt.Errorf("preparing the client for discovery: %w", err))
	}
	return uninstall.Scan{Objects: objects, Mapper: c.mapper, Discovery: server, Namespaces: namespaces}, nil
}
