package controller

import (
	"github.com/ambit-dev/ambit/pkg/controller/ownerviews"
)

// seesNothing: it is known where the owners of a policy may be watched, which is nowhere.
func seesNothing(op *policyController) {
	op.ownerViews.InstallViews(nil, ownerviews.WatchScope{}, false)
	op.ownerViews.SetResolved(true)
}
