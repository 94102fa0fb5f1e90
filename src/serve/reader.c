/* SPDX-License-Identifier: Apache-2.0 */
/* reader.c - see reader.h. */
#include "serve/reader.h"

struct Reader {
    Mailbox box;
    pthread_t thread;
    Store *store;
};

static void *reader_run(void *context)
{
    Reader *reader = context;
    for (;;) {
        Mail *mail = mailbox_wait(&reader->box, -1);
        if (!mail)
            return NULL; /* closed and empty */
        while (mail) {
            Call *call = (Call *)(void *)mail;
            mail = mail->next;
            call->read(call, reader->store);
            call->done(call);
        }
    }
}

Err reader_open(const char *store_url, Reader **out_reader, Error *why)
{
    StoreOptions options = { .read_only = true };
    Store *store;
    Err err = store_open(store_url, &options, &store, why);
    if (err)
        return err;
    Reader *reader = MEM_NEW(Reader);
    reader->store = store;
    mailbox_init(&reader->box);
    pthread_create(&reader->thread, NULL, reader_run, reader);
    *out_reader = reader;
    return ERR_OK;
}

void reader_give(Reader *reader, Call *call)
{
    mailbox_put(&reader->box, &call->mail);
}

void reader_close(Reader *reader)
{
    if (!reader)
        return;
    mailbox_close(&reader->box);
    pthread_join(reader->thread, NULL);
    store_close(reader->store);
    mailbox_done(&reader->box);
    mem_free(reader);
}
