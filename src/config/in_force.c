/* SPDX-License-Identifier: Apache-2.0 */
/* in_force.c - see in_force.h. */
#include "config/in_force.h"

#define BY_CALL "pawl config set"

const Setting *in_force_setting(ConfigKey key)
{
    const Setting *setting;
    for (size_t i = 0; (setting = setting_number(i)); i++)
        if (setting->key == key)
            return setting;
    return NULL;
}

static void config_text(const InForce *from, ConfigKey key, Buf *out)
{
    const ValueRule *rule = &config_field(key)->rule;
    Buf text = { 0 };
    value_text(rule, config_at(from->config, key), &text);
    if (rule->kind == VALUE_STORE)
        from->url_shown(buf_cstr(&text), out);
    else
        buf_add_slice(out, buf_slice(&text));
    buf_done(&text);
}

static void key_json(JsonOut *json, const InForce *from, ConfigKey key)
{
    char name[CONFIG_NAME_BYTES];
    Buf configured = { 0 };
    Buf value = { 0 };
    const Setting *setting = in_force_setting(key);
    bool stored = setting && (from->stored & setting_bit(slice_text(setting->name)));
    config_text(from, key, &configured);
    if (setting)
        setting_text(setting, from->settings, &value);
    json_object(json, config_name(key, name));
    json_text(json, "value", buf_slice(setting ? &value : &configured));
    json_cstr(json, "origin", stored ? BY_CALL : from->config->origins[key]);
    if (setting)
        json_cstr(json, "setting", setting->name);
    if (stored)
        json_text(json, "configured", buf_slice(&configured));
    json_object_end(json);
    buf_done(&configured);
    buf_done(&value);
}

/* Those that no file knows. */
static void setting_json(JsonOut *json, const InForce *from, const Setting *setting)
{
    Buf value = { 0 };
    bool stored = from->stored & setting_bit(slice_text(setting->name));
    setting_text(setting, from->settings, &value);
    json_object(json, setting->name);
    json_text(json, "value", buf_slice(&value));
    json_cstr(json, "origin", stored ? BY_CALL : "default");
    json_cstr(json, "setting", setting->name);
    json_object_end(json);
    buf_done(&value);
}

void in_force_json(JsonOut *json, const InForce *from)
{
    const Setting *setting;
    for (ConfigKey key = 0; from->config && key < CONFIG_KEYS; key++)
        key_json(json, from, key);
    for (size_t i = 0; (setting = setting_number(i)); i++)
        if (setting->key == CONFIG_KEYS || !from->config)
            setting_json(json, from, setting);
}
