// SPDX-License-Identifier: Apache-2.0

// Package quota turns Queue objects into limits of the ledger. It turns spec.dra into device limits ([Devices]), and
// the annotations volcano.sh/card.quota, volcano.sh/card.deserved and volcano.sh/card.guarantee into card limits
// ([Cards]). It reads one queue at a time. Callers build the tree of queues.
package quota
