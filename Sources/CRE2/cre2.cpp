#include "include/cre2.h"

#include <new>
#include <string>
#include <vector>

#include <re2/re2.h>

struct tg_re2 {
    RE2 expression;

    tg_re2(re2::StringPiece pattern, const RE2::Options &options) : expression(pattern, options) {}
};

// No C++ exception may reach Swift. RE2 throws none itself; those of the standard library (out of memory) are caught
// here.

tg_re2 *tg_re2_new(const char *pattern, size_t length) {
    try {
        RE2::Options options;
        // Errors are returned instead of printed to stderr.
        options.set_log_errors(false);
        return new tg_re2(re2::StringPiece(pattern, length), options);
    } catch (...) {
        return nullptr;
    }
}

const char *tg_re2_error(const tg_re2 *expression) {
    return expression->expression.ok() ? nullptr : expression->expression.error().c_str();
}

int tg_re2_groups(const tg_re2 *expression) { return expression->expression.NumberOfCapturingGroups(); }

const char *tg_re2_group_name(const tg_re2 *expression, int number) {
    try {
        const auto &names = expression->expression.CapturingGroupNames();
        const auto found = names.find(number);
        return found == names.end() ? nullptr : found->second.c_str();
    } catch (...) {
        return nullptr;
    }
}

int tg_re2_search(const tg_re2 *expression, const char *text, size_t length, size_t *bounds, int count) {
    // RE2 needs a pointer even for empty text.
    if (text == nullptr) text = "";
    try {
        std::vector<re2::StringPiece> parts(count);
        const re2::StringPiece subject(text, length);
        if (!expression->expression.Match(subject, 0, length, RE2::UNANCHORED, parts.data(), count)) return 0;
        for (int number = 0; number < count; number++) {
            const bool isThere = parts[number].data() != nullptr;
            bounds[2 * number] = isThere ? parts[number].data() - text : (size_t)-1;
            bounds[2 * number + 1] = isThere ? bounds[2 * number] + parts[number].size() : (size_t)-1;
        }
        return 1;
    } catch (...) {
        return 0;
    }
}

void tg_re2_free(tg_re2 *expression) { delete expression; }
