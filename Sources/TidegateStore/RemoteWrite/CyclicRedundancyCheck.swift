internal import CZlib

/// The check of 32 bits that gzip and Ethernet use (ISO 3309), to know a damaged file.
enum CyclicRedundancyCheck {
    static func sum(of bytes: some Sequence<UInt8>) -> UInt32 {
        let bytes = Array(bytes)
        return UInt32(truncatingIfNeeded: crc32_z(0, bytes, bytes.count))
    }
}
