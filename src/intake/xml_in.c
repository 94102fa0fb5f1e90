/* SPDX-License-Identifier: Apache-2.0 */
/* xml_in.c - see xml_in.h. */
#include "intake/xml_in.h"

#include "base/text.h"

#include <expat.h>
#include <stdarg.h>
#include <stdio.h>
#include <strings.h>

#define SPACE_MARK '\n' /* between name space and name: no URI has one */

typedef struct Loading {
    XML_Parser parser;
    Slice document;
    Arena *arena;
    XmlIn *root;
    XmlIn *open;    /* the element we are in */
    Buf text;       /* of all open elements, one after the other */
    size_t *starts; /* by depth: where the text of the open element begins */
    uint32_t depth;
    uint32_t nodes;
    XmlFault *fault;
    Err err;
} Loading;

static void PRINTF_LIKE(3, 4) refuse(Loading *loading, Err err, const char *format, ...)
{
    if (loading->err)
        return;
    va_list args;
    va_start(args, format);
    vsnprintf(loading->fault->text, sizeof loading->fault->text, format, args);
    va_end(args);
    loading->fault->line = (uint32_t)XML_GetCurrentLineNumber(loading->parser);
    loading->fault->column = (uint32_t)XML_GetCurrentColumnNumber(loading->parser) + 1;
    loading->err = err;
    XML_StopParser(loading->parser, XML_FALSE);
}

static void split_name(Arena *arena, const char *full, XmlIn *out)
{
    Slice name = slice_copy(arena, slice_text(full));
    const char *mark = strchr(full, SPACE_MARK);
    if (mark)
        out->space = slice_cut(&name, SPACE_MARK);
    out->name = name;
}

static XmlIn *node_new(Loading *loading, const char *name)
{
    XmlIn *node = ARENA_NEW(loading->arena, XmlIn);
    split_name(loading->arena, name, node);
    node->line = (uint32_t)XML_GetCurrentLineNumber(loading->parser);
    node->column = (uint32_t)XML_GetCurrentColumnNumber(loading->parser) + 1;
    return node;
}

static void XMLCALL on_start(void *context, const char *name, const char **attributes)
{
    Loading *loading = context;
    if (loading->depth >= XML_DEPTH_MAX) {
        refuse(loading, ERR_LIMIT, "elements are nested deeper than %d", XML_DEPTH_MAX);
        return;
    }
    XmlIn *node = node_new(loading, name);
    XmlIn **last = &node->attributes;
    for (; attributes[0]; attributes += 2) {
        *last = node_new(loading, attributes[0]);
        (*last)->text = slice_copy(loading->arena, slice_text(attributes[1]));
        last = &(*last)->next;
        loading->nodes++;
    }
    if (++loading->nodes > XML_NODES_MAX) {
        refuse(loading, ERR_LIMIT, "there are more than %d elements and attributes",
               XML_NODES_MAX);
        return;
    }
    size_t at = (size_t)XML_GetCurrentByteIndex(loading->parser) +
                (size_t)XML_GetCurrentByteCount(loading->parser);
    node->inner = slice_of(loading->document.data + at, 0);
    node->up = loading->open;
    if (!loading->open)
        loading->root = node;
    else if (loading->open->last)
        loading->open->last->next = node;
    else
        loading->open->first = node;
    if (loading->open)
        loading->open->last = node;
    loading->open = node;
    loading->starts[loading->depth++] = loading->text.bytes;
}

static Slice trimmed(Slice text)
{
    while (text.bytes && strchr(" \t\r\n", text.data[0]))
        text = slice_from(text, 1);
    while (text.bytes && strchr(" \t\r\n", text.data[text.bytes - 1]))
        text.bytes--;
    return text;
}

static void XMLCALL on_end(void *context, const char *name)
{
    Loading *loading = context;
    XmlIn *node = loading->open;
    (void)name;
    size_t at = (size_t)XML_GetCurrentByteIndex(loading->parser);
    node->inner.bytes = at - (size_t)(node->inner.data - loading->document.data);
    size_t start = loading->starts[--loading->depth];
    Slice text = slice_from(buf_slice(&loading->text), start);
    node->text = slice_copy(loading->arena, trimmed(text));
    loading->text.bytes = start;
    loading->open = node->up;
}

/* Inside a child the text of its parent waits below it in the same buffer. */
static void XMLCALL on_text(void *context, const char *text, int bytes)
{
    Loading *loading = context;
    buf_add(&loading->text, text, (size_t)bytes);
}

static void XMLCALL on_doctype(void *context, const char *name, const char *sysid,
                               const char *pubid, int internal)
{
    (void)name, (void)sysid, (void)pubid, (void)internal;
    refuse(context, ERR_INVALID, "a document type (DTD) is not taken: leave it out");
}

static void XMLCALL on_declaration(void *context, const char *version,
                                   const char *encoding, int standalone)
{
    (void)version, (void)standalone;
    if (encoding && strcasecmp(encoding, "utf-8") != 0 &&
        strcasecmp(encoding, "us-ascii") != 0)
        refuse(context, ERR_INVALID,
               "the encoding is %.40s: save the document as UTF-8, and name that",
               encoding);
}

static void take_error(Loading *loading)
{
    if (loading->err)
        return;
    enum XML_Error code = XML_GetErrorCode(loading->parser);
    bool cut = code == XML_ERROR_NO_ELEMENTS || code == XML_ERROR_UNCLOSED_TOKEN ||
               code == XML_ERROR_UNCLOSED_CDATA_SECTION;
    refuse(loading, ERR_INVALID, "%s%s", XML_ErrorString(code),
           cut ? ": the document ends before its last element does" : "");
}

static Err check_bytes(Slice document, XmlFault *fault)
{
    *fault = (XmlFault){ .line = 1, .column = 1 };
    if (document.bytes > XML_BYTES_MAX) {
        snprintf(fault->text, sizeof fault->text,
                 "the document has %zu bytes; the limit is %d", document.bytes,
                 XML_BYTES_MAX);
        return ERR_LIMIT;
    }
    size_t good = utf8_prefix(document);
    const char *nul = document.bytes ? memchr(document.data, '\0', document.bytes) : NULL;
    if (good == document.bytes && !nul)
        return ERR_OK;
    if (nul) { /* UTF-16 of plain letters is full of them */
        snprintf(fault->text, sizeof fault->text,
                 "the document is UTF-16 or no text at all: save it as UTF-8");
        return ERR_INVALID;
    }
    for (size_t i = 0; i < good; i++) {
        if (document.data[i] == '\n') {
            fault->line++;
            fault->column = 1;
        } else if ((document.data[i] & 0xc0) != 0x80) {
            fault->column++;
        }
    }
    snprintf(fault->text, sizeof fault->text,
             "byte 0x%02x is not UTF-8: save the document as UTF-8",
             (unsigned)(unsigned char)document.data[good]);
    return ERR_INVALID;
}

Err xml_load(Slice document, Arena *arena, const XmlIn **out_root, XmlFault *fault)
{
    Err err = check_bytes(document, fault);
    if (err)
        return err;
    size_t starts[XML_DEPTH_MAX];
    Loading loading = { .parser = XML_ParserCreateNS("UTF-8", SPACE_MARK),
                        .document = document,
                        .arena = arena,
                        .starts = starts,
                        .fault = fault };
    XML_SetUserData(loading.parser, &loading);
    XML_SetElementHandler(loading.parser, on_start, on_end);
    XML_SetCharacterDataHandler(loading.parser, on_text);
    XML_SetStartDoctypeDeclHandler(loading.parser, on_doctype);
    XML_SetXmlDeclHandler(loading.parser, on_declaration);
    const char *bytes = document.data ? document.data : "";
    if (XML_Parse(loading.parser, bytes, (int)document.bytes, 1) != XML_STATUS_OK)
        take_error(&loading);
    XML_ParserFree(loading.parser);
    buf_done(&loading.text);
    if (!loading.err)
        *out_root = loading.root;
    return loading.err;
}

const XmlIn *xml_unknown_attribute(const XmlIn *element, const char *const *known)
{
    for (const XmlIn *at = element->attributes; at; at = at->next) {
        const char *const *name = known;
        while (*name && !slice_is(at->name, *name))
            name++;
        if (!*name && !at->space.bytes)
            return at;
    }
    return NULL;
}

void xml_escape(Buf *out, Slice text)
{
    for (size_t i = 0; i < text.bytes; i++) {
        unsigned char c = (unsigned char)text.data[i];
        if (c == '&')
            buf_add_text(out, "&amp;");
        else if (c == '<')
            buf_add_text(out, "&lt;");
        else if (c == '>')
            buf_add_text(out, "&gt;");
        else if (c == '"')
            buf_add_text(out, "&quot;");
        else if (c < 0x20 && c != '\t' && c != '\n' && c != '\r')
            buf_add_text(out, "\xef\xbf\xbd");
        else
            buf_add_char(out, (char)c);
    }
}
