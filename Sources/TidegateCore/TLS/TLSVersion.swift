/// A version of TLS.
package enum TLSVersion: Int, Sendable, Comparable, CaseIterable {
    case v1_0, v1_1, v1_2, v1_3

    package static func < (left: TLSVersion, right: TLSVersion) -> Bool { left.rawValue < right.rawValue }
}
