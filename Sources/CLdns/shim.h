#pragma once
// ldns packets: building questions and parsing answers. Its resolver, keys and DNSSEC are left out because they need
// OpenSSL's headers.
#include <stddef.h>
#include <stdint.h>
// Used by <ldns/host2wire.h>, which does not include it.
#include <ldns/rbtree.h>
#include <ldns/host2wire.h>
#include <ldns/packet.h>
#include <ldns/rdata.h>
#include <ldns/rr.h>
#include <ldns/wire2host.h>

// <ldns/host2str.h> would need keys; these are the declarations used from it.
typedef struct ldns_struct_output_format ldns_output_format;
extern const ldns_output_format *ldns_output_format_nocomments;
char *ldns_rr2str_fmt(const ldns_output_format *format, const ldns_rr *record);

/// A record in zone file format; the caller frees it. NULL if out of memory.
static inline char *tg_record_text(const ldns_rr *record) {
    return ldns_rr2str_fmt(ldns_output_format_nocomments, record);
}
