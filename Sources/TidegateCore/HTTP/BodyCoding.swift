/// How the body that a probe examines is encoded (RFC 9110 section 8.4.1, RFC 7932).
package enum BodyCoding: String, Sendable, Hashable, CaseIterable {
    case gzip
    /// RFC 1951 without a zlib header, as Go's `compress/flate` and thus blackbox_exporter read it.
    case deflate
    case br, identity
}
