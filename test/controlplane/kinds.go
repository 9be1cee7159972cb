package main

import (
	"context"
	"errors"
	"fmt"
	"os"
)

const crdPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

// makeKinds makes the CustomResourceDefinitions of the options and waits until
// they are served. The garbage collector looks for new kinds twice a minute, so
// one that starts later knows them from its first moment.
func (p *plane) makeKinds(ctx context.Context) error {
	for _, file := range p.options.crds {
		data, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("reading a CustomResourceDefinition: %w", err)
		}
		if err := p.client.createFrom(ctx, crdPath, data); err != nil {
			return fmt.Errorf("making the CustomResourceDefinition in %q: %w", file, err)
		}
	}
	if len(p.options.crds) == 0 {
		return nil
	}
	server := p.running[len(p.running)-1]
	return server.await(ctx, p.kindsServed)
}

// crdList is a list of CustomResourceDefinitions, as far as it is needed.
type crdList struct {
	Items []struct {
		Spec struct {
			Group    string
			Versions []struct {
				Name   string
				Served bool
			}
			Names struct{ Plural string }
		}
	}
}

// kindsServed lists all kinds: to be established is not to be served yet.
func (p *plane) kindsServed(ctx context.Context) error {
	var list crdList
	if err := p.client.get(ctx, crdPath, &list); err != nil {
		return err
	}
	var missing []error
	for _, crd := range list.Items {
		for _, version := range crd.Spec.Versions {
			if !version.Served {
				continue
			}
			path := fmt.Sprintf("/apis/%s/%s/%s?limit=1", crd.Spec.Group, version.Name, crd.Spec.Names.Plural)
			missing = append(missing, p.client.get(ctx, path, nil))
		}
	}
	return errors.Join(missing...)
}
