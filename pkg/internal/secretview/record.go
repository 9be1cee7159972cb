package secretview

import (
	"encoding/json"
	"fmt"
	"time"
)

// Record is the annotation v1alpha1.AnnotationMade: what Ambit has made, by key.
type Record map[string]Entry

// Entry is what is noted of one made value.
type Entry struct {
	// At is when the value was made, in whole seconds.
	At time.Time `json:"at"`
	// Rotate is the v1alpha1.AnnotationRotate that was there then.
	Rotate string `json:"rotate,omitempty"`
}

// What a record may have. One that has more was not written by Ambit.
const (
	mostRecordBytes = 16 << 10
	mostRecordKeys  = 64
)

// ParseRecord reads a record, and reports whether it is one that Ambit can have written. No text is an empty one.
func ParseRecord(text string) (Record, bool) {
	if text == "" {
		return nil, true
	}
	var record Record
	if len(text) > mostRecordBytes || json.Unmarshal([]byte(text), &record) != nil || len(record) > mostRecordKeys {
		return nil, false
	}
	return record, record != nil
}

// Text is the record as it stands on the Secret.
func (r Record) Text() (string, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return "", fmt.Errorf("encoding the record of made values: %w", err)
	}
	return string(text), nil
}
