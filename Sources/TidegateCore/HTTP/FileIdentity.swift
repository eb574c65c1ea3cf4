/// What distinguishes a file from another one at the same path (stat(2)).
package struct FileIdentity: Sendable, Hashable, Codable {
    /// The size in bytes.
    package var size: Int64
    /// The inode's number.
    package var inode: UInt64
    /// When the contents were modified: seconds since 1970.
    package var modifiedSeconds: Int64
    /// And the nanoseconds of that.
    package var modifiedNanoseconds: Int64

    /// An identity from its parts.
    package init(size: Int64, inode: UInt64, modifiedSeconds: Int64, modifiedNanoseconds: Int64) {
        self.size = size
        self.inode = inode
        self.modifiedSeconds = modifiedSeconds
        self.modifiedNanoseconds = modifiedNanoseconds
    }

    /// True if the contents can be taken for the same: a copy that was put back keeps only size and time.
    package func hasContents(of other: FileIdentity) -> Bool {
        self.size == other.size && self.modifiedSeconds == other.modifiedSeconds
            && self.modifiedNanoseconds == other.modifiedNanoseconds
    }
}
