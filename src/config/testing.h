/* SPDX-License-Identifier: Apache-2.0 */
/* testing.h - a folder of its own for each test of the configuration. */
#ifndef CONFIG_TESTING_H
#define CONFIG_TESTING_H

#include "config/config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

typedef struct Folder {
    char path[64];
    char file[96]; /* pawl.yaml in it */
    char home[96]; /* HOME=path */
    const char *env[16];
} Folder;

static inline int folder_make(void **state)
{
    Folder *folder = MEM_NEW(Folder);
    const char *temporary = getenv("TMPDIR");
    snprintf(folder->path, sizeof folder->path, "%.40s/pawl-config-XXXXXX",
             temporary && *temporary ? temporary : "/tmp");
    if (!mkdtemp(folder->path))
        return -1;
    snprintf(folder->file, sizeof folder->file, "%s/pawl.yaml", folder->path);
    snprintf(folder->home, sizeof folder->home, "HOME=%s", folder->path);
    folder->env[0] = folder->home;
    *state = folder;
    return 0;
}

static inline const char *folder_at(const Folder *folder, const char *name, char *out)
{
    snprintf(out, 160, "%s/%s", folder->path, name);
    return out;
}

static inline void folder_dir(const Folder *folder, const char *name)
{
    char path[160];
    assert_int_equal(mkdir(folder_at(folder, name, path), 0700), 0);
}

static inline void folder_write_bytes(const Folder *folder, const char *name, Slice bytes)
{
    char path[160];
    FILE *file = fopen(folder_at(folder, name, path), "w");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes.data, 1, bytes.bytes, file), bytes.bytes);
    assert_int_equal(fclose(file), 0);
}

static inline void folder_write(const Folder *folder, const char *name, const char *text)
{
    folder_write_bytes(folder, name, slice_text(text));
}

/* Every name that some test makes. */
static inline int folder_remove(void **state)
{
    static const char *const names[] = {
        "pawl.yaml",
        "pawl.d/10-a.yaml",
        "pawl.d/9-b.yaml",
        "pawl.d/.x.yaml",
        "pawl.d/note.txt",
        "pawl.d/c.yml",
        "pawl.d",
        ".config/pawl/pawl.yaml",
        ".config/pawl/pawl.d/a.yaml",
        ".config/pawl/pawl.d",
        ".config/pawl",
        ".config",
    };
    char path[160];
    Folder *folder = *state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        (void)remove(folder_at(folder, names[i], path));
    int result = rmdir(folder->path);
    mem_free(folder);
    return result;
}

/* The sources of a daemon that is given only the folder's file. */
static inline ConfigSources folder_sources(const Folder *folder)
{
    return (
        ConfigSources){ .file = folder->file, .env = folder->env, .cwd = folder->path };
}

#define folder_test(name)                                                                \
    cmocka_unit_test_setup_teardown((name), folder_make, folder_remove)

#endif
