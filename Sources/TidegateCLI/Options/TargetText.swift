internal import ArgumentParser
internal import Glibc
internal import TidegateCore

/// Parses targets; an IPv6 zone may be the name of an interface.
enum TargetText {
    /// The target; an error begins with `option` unless it is nil.
    static func parse(_ text: String, of option: String?) throws -> Target {
        do {
            return try Target(text, zone: self.zone)
        } catch {
            throw ValidationError(option.map { "\($0): \(error)" } ?? error.description)
        }
    }

    /// The index of an interface, given by name or number; nil if there is no such interface.
    static func zone(_ name: String) -> UInt32? {
        if let number = UInt32(name) {
            var buffer = [CChar](repeating: 0, count: Int(IF_NAMESIZE))
            return if_indextoname(number, &buffer) == nil ? nil : number
        }
        let index = if_nametoindex(name)
        return index == 0 ? nil : index
    }
}

extension Target {
    /// The host as it is written before `:PORT`.
    var bracketed: String { self.address?.family == .ipv6 ? "[\(self.host)]" : self.host }
}
