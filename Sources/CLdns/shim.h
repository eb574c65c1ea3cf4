#pragma once
// ldns' packets: building a question, reading an answer. Its resolver, its keys and DNSSEC stay outside, and with them
// OpenSSL's headers.
#include <stddef.h>
#include <stdint.h>
// Used by <ldns/host2wire.h>, which does not bring it.
#include <ldns/rbtree.h>
#include <ldns/host2wire.h>
#include <ldns/packet.h>
#include <ldns/rdata.h>
#include <ldns/rr.h>
#include <ldns/wire2host.h>
