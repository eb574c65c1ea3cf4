internal import CPsl

/// The domains below which anyone can register names (publicsuffix.org), as libpsl has them built in.
package enum PublicSuffix {
    /// Whether `name`, in small letters and in the DNS's form, is one, such as `co.uk` or `github.io`.
    package static func contains(_ name: String) -> Bool { unsafe psl_is_public_suffix(psl_builtin(), name) != 0 }
}
