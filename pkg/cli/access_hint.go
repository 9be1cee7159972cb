package cli

import (
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/ambit-dev/ambit/pkg/internal/rbac"
)

// grantCommand is the command line, ready for a shell, that prints what the
// account lacks: with the same policies, places and cluster. caller is the user
// name that the API server knows the caller by, "" if it does not tell.
func (o *accessOptions) grantCommand(caller string) string {
	words := []string{o.Program + " rbac --missing"}
	for _, file := range o.Files {
		words = append(words, "-f "+quoted(file))
	}
	if len(o.Namespaces) > 0 {
		words = append(words, "--namespaces "+strings.Join(o.Namespaces, ","))
	}
	subject := o.grantee(caller)
	words = append(words, subjectFlag(subject))
	own := o.OwnNamespace
	if asked, _ := o.subject(); own == "" && o.own(asked) != o.own(subject) {
		own = o.own(asked) // who was asked about as the caller is named now
	}
	if own != "" {
		words = append(words, "--own-namespace "+own)
	}
	if o.Finalizers {
		words = append(words, "--finalizers")
	}
	return strings.Join(append(words, o.clusterWords()...), " ")
}

// grantee is who `ambit access` was about; the zero Subject if nobody knows.
func (o *accessOptions) grantee(caller string) rbac.Subject {
	subject, err := o.subject()
	if err == nil && subject == (rbac.Subject{}) {
		subject, err = userSubject(caller)
	}
	if err != nil {
		return rbac.Subject{}
	}
	return subject
}

// subjectFlag says to `ambit rbac` who it is about. A caller whom nobody knows has a
// name in it that is refused.
func subjectFlag(subject rbac.Subject) string {
	switch {
	case subject.Name == "":
		return "--service-account NAMESPACE/NAME"
	case subject.Namespace != "":
		return "--service-account " + subject.Namespace + "/" + subject.Name
	}
	return "--user " + quoted(subject.Name)
}

// clusterWords are the flags that say which cluster it is and who asks, without
// the secret ones. Whoever was asked about as --as does not ask.
func (o *accessOptions) clusterWords() []string {
	left := []string{"token"}
	if o.User == "" && o.ServiceAccount == "" {
		left = append(left, "as", "as-group", "as-uid", "as-user-extra")
	}
	var words []string
	o.cluster.VisitAll(func(f *pflag.Flag) {
		if !f.Changed || slices.Contains(left, f.Name) {
			return
		}
		values := []string{f.Value.String()}
		if list, isList := f.Value.(pflag.SliceValue); isList {
			values = list.GetSlice()
		}
		for _, value := range values {
			words = append(words, "--"+f.Name+"="+quoted(value))
		}
	})
	return words
}

// quoted is a word as a POSIX shell takes it.
func quoted(word string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:@%+=,"
	if word != "" && strings.Trim(word, plain) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
