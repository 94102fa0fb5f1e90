/* SPDX-License-Identifier: Apache-2.0 */
/* reader.c - see reader.h. */
#include "engine/reader.h"

struct Reader {
    Mailbox box;
    pthread_t thread;
    Store *store;
};

#define ANSWER_MS 5000 /* people wait behind it */

/* Those that came while a store was found not to answer do not wait for it one after the
 * other. */
static void read_all(Reader *reader, Mail *mail)
{
    bool away = false;
    while (mail) {
        Call *call = (Call *)(void *)mail;
        mail = mail->next;
        if (away) {
            call->err = ERR_UNAVAILABLE;
            call->problem = "store_failing";
        } else {
            call->read(call, reader->store);
            away = call->err == ERR_UNAVAILABLE;
        }
        call->done(call);
    }
}

static void *reader_run(void *context)
{
    Reader *reader = context;
    for (;;) {
        Mail *mail = mailbox_wait(&reader->box, -1);
        if (!mail)
            return NULL; /* closed and empty */
        read_all(reader, mail);
    }
}

Err reader_open(const char *store_url, Reader **out_reader, Error *why)
{
    StoreOptions options = { .read_only = true, .answer_ms = ANSWER_MS };
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
