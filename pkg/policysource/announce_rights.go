package policysource

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
)

// Of rights that come and go mostRapid changes are said, of which each is less than rapidTime
// after the one before; then no more until that time has passed. Events are not correlated
// on the way, as each is about another version of the object.
const (
	mostRapid = 4
	rapidTime = time.Minute
)

// lack is what was said last of the rights of a policy.
type lack struct {
	lacks bool
	at    time.Time
	rapid int // how many were said shortly after another
}

// announceRights logs that a policy lacks rights, or has them again, and makes an event of
// it: once for each change of the condition Permitted. While more is to be known of a
// version, or where the policy is not ready for the same reason, there is nothing to add.
func (s *secretary) announceRights(d document, says said) {
	now := says.permitted
	if now.status == "" || passes(says.ready.reason) || d.retiring || d.deleting {
		return
	}
	before, lacks := s.lacking[d.entryKey], now.status == isFalse
	if before.lacks == lacks {
		return
	}
	at, rapid := s.o.Clock.Now(), 0
	if at.Sub(before.at) < rapidTime {
		rapid = before.rapid + 1
	}
	if rapid >= mostRapid {
		return // rights come and go: the next pass looks again
	}
	s.lacking[d.entryKey] = lack{lacks: lacks, at: at, rapid: rapid}
	log := s.o.Logger.WithValues("policy", d.name, "origin", d.origin.String())
	switch {
	case !lacks:
		log.Info("policy has the rights again that it lacked")
		now.message = "nothing that the policy needs is refused any more"
	case says.ready.reason == now.reason:
		return // announce has said it
	default:
		log.Info("policy lacks rights", "message", now.message)
	}
	s.tellOf(d, heard{condition: now}, wasLacking)
}

// wasLacking is wasSaid for rights.
func wasLacking(object *unstructured.Unstructured, d document, now heard) bool {
	lacks := now.status == isFalse
	if d.origin.Kind == ConfigMap {
		for _, n := range notesOn(object) {
			if n.Key == d.origin.Key && n.Policy == d.name {
				return n.Denied == lacks
			}
		}
		return false
	}
	was := observed(object, v1alpha1.ConditionPermitted)
	return was["status"] == now.status
}
