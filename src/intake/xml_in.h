/* SPDX-License-Identifier: Apache-2.0 */
/* xml_in.h - reading small XML documents: 000's control files and configuration.
 *
 * A document is UTF-8, well formed, and within limits; document types (and with them
 * entities, and with those every bomb made of them) are refused where they begin. Names
 * come with their name space, texts without the white space around them. */
#ifndef INTAKE_XML_IN_H
#define INTAKE_XML_IN_H

#include "base/buf.h"

#include <stdint.h>

#define XML_BYTES_MAX (1 << 20)
#define XML_DEPTH_MAX 32
#define XML_NODES_MAX 4096

typedef struct XmlIn XmlIn;
struct XmlIn {
    Slice space; /* of its name; empty: none */
    Slice name;
    Slice text;  /* of its own, not of elements in it */
    Slice inner; /* the document's bytes between its tags */
    uint32_t line;
    uint32_t column;
    XmlIn *attributes; /* a list: space, name, text; places are those of the element */
    XmlIn *first;      /* elements in it */
    XmlIn *next;       /* beside it */
    XmlIn *last;       /* of the elements in it */
    XmlIn *up;
};

typedef struct XmlFault {
    uint32_t line;
    uint32_t column;
    char text[200];
} XmlFault;

/* The root element; everything lives in the arena or borrows from `document`.
 * ERR_LIMIT for a document that is too large, deep or rich; ERR_INVALID for one that is
 * no XML we take. */
MUST_CHECK Err xml_load(Slice document, Arena *arena, const XmlIn **out_root,
                        XmlFault *fault);

/* The first attribute that is none of `known` (up to NULL). Those with a name space of
 * their own, such as xml:lang and xsi:schemaLocation, are other people's and pass. */
const XmlIn *xml_unknown_attribute(const XmlIn *element, const char *const *known);

/* Appends text with what must be escaped in XML. Characters that XML cannot hold at all
 * become U+FFFD. */
void xml_escape(Buf *out, Slice text);

#endif
