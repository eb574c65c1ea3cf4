/// How a body can be encoded (RFC 9110 section 8.4.1, RFC 7932).
package enum BodyCoding: String, Sendable, Hashable, CaseIterable {
    case gzip, deflate, br, identity
}
