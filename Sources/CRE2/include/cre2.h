#ifndef TIDEGATE_CRE2_H
#define TIDEGATE_CRE2_H
// RE2 in C: the library itself is in C++.
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/// A compiled expression; any number of threads may search with it.
typedef struct tg_re2 tg_re2;

/// Compiles a pattern; NULL only if there is no memory. What is wrong with it is in tg_re2_error.
tg_re2 *tg_re2_new(const char *pattern, size_t length);

/// What is wrong with the pattern, for as long as the expression lives; NULL if nothing is.
const char *tg_re2_error(const tg_re2 *expression);

/// How many groups in parentheses it has.
int tg_re2_groups(const tg_re2 *expression);

/// The name of a group, for as long as the expression lives; NULL if it has none.
const char *tg_re2_group_name(const tg_re2 *expression, int number);

/// Searches; 1 if something was found, whose bounds, and those of `count` - 1 groups, are in `bounds`: start and end of
/// each, (size_t)-1 for a group that took no part.
int tg_re2_search(const tg_re2 *expression, const char *text, size_t length, size_t *bounds, int count);

void tg_re2_free(tg_re2 *expression);

#ifdef __cplusplus
}
#endif
#endif
