package plan



// Difference is one field of a live object that is not as desired.
type Difference struct {
	// Path is dotted, with list positions or keys in brackets.
	Path string
	// Want is the desired value and Have the live one, as short text; `nothing` for
	// a field that is to be removed or is missing.
	Want, Have string
}

// String is a sentence without a subject's name, as in `spec.replicas is 5, want 3`.
func (d Difference) String() string { return d.Path + " is " + d.Have + ", want " + d.Want }

