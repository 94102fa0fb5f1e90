/* SPDX-License-Identifier: Apache-2.0 */
/* trouble.c - see trouble.h. */
#include "pipeline/trouble.h"

#include <stdio.h>

static Trouble *find(const Troubles *troubles, const char *unit)
{
    for (size_t i = 0; i < troubles->count; i++)
        if (strcmp(troubles->items[i].unit, unit) == 0)
            return &troubles->items[i];
    return NULL;
}

bool trouble_add(Troubles *troubles, const char *unit, const char *text)
{
    Trouble *trouble = find(troubles, unit);
    if (trouble && strcmp(trouble->text, text) == 0)
        return false;
    if (!troubles->items)
        troubles->items = MEM_ARRAY(Trouble, TROUBLES_MAX);
    if (!trouble && troubles->count < TROUBLES_MAX) {
        trouble = &troubles->items[troubles->count++];
    } else if (!trouble) {
        trouble = &troubles->items[troubles->next];
        troubles->next = (troubles->next + 1) % TROUBLES_MAX;
    }
    snprintf(trouble->unit, sizeof trouble->unit, "%s", unit);
    snprintf(trouble->text, sizeof trouble->text, "%s", text);
    return true;
}

bool trouble_may_log(Troubles *troubles, int64_t boot_ms)
{
    int64_t minute = boot_ms / MS_PER_MIN;
    if (minute != troubles->minute) {
        troubles->minute = minute;
        troubles->logged = 0;
    }
    return troubles->logged++ < TROUBLE_LINES_A_MIN;
}

void trouble_clear(Troubles *troubles, const char *unit)
{
    Trouble *trouble = find(troubles, unit);
    if (!trouble)
        return;
    size_t at = (size_t)(trouble - troubles->items);
    troubles->count--;
    memmove(trouble, trouble + 1, (troubles->count - at) * sizeof *trouble);
    troubles->next = 0;
}

void troubles_json(JsonOut *json, const char *key, const Troubles *troubles)
{
    json_array(json, key);
    for (size_t i = 0; i < troubles->count; i++) {
        const Trouble *trouble = &troubles->items[i];
        json_object(json, NULL);
        json_cstr(json, "unit", trouble->unit[0] ? trouble->unit : NULL);
        json_cstr(json, "problem", trouble->text);
        json_object_end(json);
    }
    json_array_end(json);
}

void troubles_done(Troubles *troubles)
{
    mem_free(troubles->items);
    *troubles = (Troubles){ 0 };
}
