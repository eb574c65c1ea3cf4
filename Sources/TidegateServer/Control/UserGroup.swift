internal import Glibc

/// Groups of users (group(5)).
enum UserGroup {
    /// The name of a group; its number if it has none.
    static func name(of id: UInt32) -> String {
        var group = Glibc.group()
        var buffer = [CChar](repeating: 0, count: 16 << 10)
        var found: UnsafeMutablePointer<Glibc.group>?
        guard getgrgid_r(id, &group, &buffer, buffer.count, &found) == 0, found != nil, let name = group.gr_name else {
            return String(id)
        }
        return String(cString: name)
    }
}
