package informer

import "testing"

func TestKeys(t *testing.T) {
	base := needOf("ns").Key
	other := base
	other.Identity, other.LabelSelector, other.FieldSelector = "bob", "a=b", "metadata.name=c"
	expect(t, "text", `things.example.com in "ns"`, base.String())
	expect(t, "text", `things.example.com in "ns" with a=b with metadata.name=c as bob`, other.String())
	metadata := base
	metadata.Form.Metadata = true
	expect(t, "order", []int{-1, 1, 0, -1}, []int{
		compareKeys(base, other), compareKeys(other, base), compareKeys(other, other), compareKeys(base, metadata),
	})
}
