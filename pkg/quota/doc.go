// Package quota turns Queue objects into limits of the ledger.
package quota
