/* SPDX-License-Identifier: Apache-2.0 */
/* testdir.c - see testdir.h. */
#include "testing/testdir.h"

#include "base/times.h"
#include "store/sqlite/sqlite.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

void testdir_make(TestDir *dir)
{
    const char *base = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    snprintf(dir->path, sizeof dir->path, "%s/pawl-store-XXXXXX", base);
    if (!mkdtemp(dir->path))
        fail_msg("cannot make %s", dir->path);
}

const char *testdir_file(const TestDir *dir, const char *name)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/%s", dir->path, name);
    return path;
}

void testdir_remove(TestDir *dir)
{
    if (!dir->path[0])
        return;
    DIR *open = opendir(dir->path);
    for (struct dirent *entry; open && (entry = readdir(open));)
        if (entry->d_name[0] != '.')
            unlink(testdir_file(dir, entry->d_name));
    if (open)
        closedir(open);
    rmdir(dir->path);
    dir->path[0] = '\0';
}

/* An empty store's file, kept after the first was made: copies are cheaper. */
static Buf empty_file;

static void read_empty(const char *path)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t bytes;
    while ((bytes = fread(buf_room(&empty_file, 65536), 1, 65536, file)) > 0)
        empty_file.bytes += bytes;
    fclose(file);
}

static void write_empty(const char *path)
{
    FILE *file = fopen(path, "wbx");
    if (!file)
        return; /* there is a store already */
    assert_int_equal(fwrite(empty_file.data, 1, empty_file.bytes, file),
                     empty_file.bytes);
    fclose(file);
}

Store *testdir_store(const TestDir *dir, const StoreOptions *options)
{
    char url[160];
    Store *store = NULL;
    Error why = { 0 };
    snprintf(url, sizeof url, "sqlite:%s/pawl.db", dir->path);
    if (empty_file.bytes) {
        write_empty(testdir_file(dir, "pawl.db"));
    } else if (!store_open(url, options, &store, &why)) {
        store_close(store);
        read_empty(testdir_file(dir, "pawl.db"));
    }
    if (store_open(url, options, &store, &why))
        fail_msg("%s", why.text);
    sqlite_of(store)->scan_ms = MS_PER_HOUR; /* a busy machine must not cut a page */
    return store;
}
