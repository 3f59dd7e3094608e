/* _gate.h - a header of C, whose name begins with an underscore.
 *
 * Invariants
 *   GATE-1  One at a time (LOCK-1).
 *   GATE-4  Before another (GATE-1).
 */
