/* SPDX-License-Identifier: Apache-2.0 */
/* serve.h - `pawl serve`: the daemon in the foreground. */
#ifndef SERVE_SERVE_H
#define SERVE_SERVE_H

/* argv[0] is "serve". Returns the exit status of the program. */
int serve_main(int argc, char **argv);

#endif
