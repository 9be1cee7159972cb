package e2e

// unlabelling are merge patches of somebody who takes labels off a child.
const ()
