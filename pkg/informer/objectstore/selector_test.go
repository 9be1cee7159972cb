package objectstore

import "testing"

func TestSelector(t *testing.T) {
	obj := full()
	cases := map[string]struct {
		reason string
		key    [3]string // namespace, labels, fields
		want   Selection
	}{
		"Everything":     {"no selector", [3]string{}, Selected},
		"Namespace":      {"its own", [3]string{"ns", "", ""}, Selected},
		"OtherNamespace": {"another", [3]string{"other", "", ""}, NotSelected},
		"Label":          {"it has it", [3]string{"", "l=1,!m", ""}, Selected},
		"OtherLabel":     {"it has another", [3]string{"", "l in (2,3)", ""}, NotSelected},
		"Name":           {"a term that is known here", [3]string{"", "", "metadata.name=a,metadata.namespace=ns"}, Selected},
		"OtherName":      {"a term that is known here", [3]string{"", "", "metadata.name!=a"}, NotSelected},
		"Field":          {"how it is read only the API server knows", [3]string{"", "", "status.phase=Running"}, SelectionUnknown},
		"FieldAndLabel":  {"the label decides", [3]string{"", "l=2", "status.phase=Running"}, NotSelected},
		"FieldAndName":   {"the name decides", [3]string{"", "", "status.phase=Running,metadata.name=b"}, NotSelected},
		"FieldOfIt":      {"the name does not", [3]string{"", "", "metadata.name=a,status.phase=Running"}, SelectionUnknown},
		"Nonsense":       {"the API server will refuse it", [3]string{"", "==", ""}, SelectionUnknown},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			expect(t, c.reason, c.want, NewSelector(c.key[0], c.key[1], c.key[2]).Evaluate(obj))
		})
	}
}
