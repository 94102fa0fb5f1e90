/* SPDX-License-Identifier: Apache-2.0 */
/* flaws.h - defects put into the simulated cluster on purpose. */
#ifndef SIM_CLUSTER_FLAWS_H
#define SIM_CLUSTER_FLAWS_H

/* What is put wrong into the daemons around the cores, to see that it is seen. */
typedef enum Flaw {
    FLAW_NONE,
    FLAW_KEYS_BELIEVED,   /* a node takes keys for its own without looking */
    FLAW_COMPLETED_TWICE, /* ... and completion jobs for the only ones */
    FLAW_HOME_EVERYWHERE, /* each node takes itself for the home */
    FLAW_OWED_FORGOTTEN,  /* what a lost node owes is not found */
    FLAWS,
} Flaw;

#endif
