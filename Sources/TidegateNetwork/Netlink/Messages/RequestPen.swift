internal import CNetlink
internal import Glibc
internal import TidegateCore

/// Writes in place what there is room for.
struct RequestPen {
    private let bytes: UnsafeMutableRawBufferPointer
    private(set) var offset: Int

    init(_ bytes: UnsafeMutableRawBufferPointer, at offset: Int) {
        self.bytes = bytes
        self.offset = offset
    }

    /// One lookup; its length is left for whoever knows it.
    mutating func lookup(_ question: RouteQuestion, flags: UInt32, _ sequence: UInt32) {
        let destination = question.destination
        self.write(UInt32(0))
        self.write(UInt16(RTM_GETROUTE))
        self.write(UInt16(NLM_F_REQUEST))
        self.write(sequence)
        self.write(UInt32(0))
        self.write(RequestEncoder.number(of: destination.family))
        self.write(UInt8(destination.family.bits))
        self.write(UInt16(0))
        self.write(UInt32(0))
        self.write(flags)
        self.header(Int(RTA_DST.rawValue), count: destination.family.bits / 8)
        self.address(destination)
        if let link = question.link ?? (destination.zone == 0 ? nil : destination.zone) {
            self.attribute(Int(RTA_OIF.rawValue), link)
        }
        if let port = question.port {
            self.header(Int(RTA_IP_PROTO.rawValue), count: 1)
            self.write(UInt32(question.ipProtocol).littleEndian)
            self.header(Int(RTA_DPORT.rawValue), count: 2)
            self.write(port.bigEndian)
            self.write(UInt16(0))
        }
        if let mark = question.mark { self.attribute(Int(RTA_MARK.rawValue), mark) }
        if let uid = question.uid { self.attribute(Int(RTA_UID.rawValue), uid) }
    }

    private mutating func address(_ address: IPAddress) {
        let (high, low) = address.words
        switch address.family {
        case .ipv4: self.write(UInt32(truncatingIfNeeded: low).bigEndian)
        case .ipv6:
            self.write(high.bigEndian)
            self.write(low.bigEndian)
        }
    }

    private mutating func attribute(_ type: Int, _ word: UInt32) {
        self.header(type, count: 4)
        self.write(word)
    }

    private mutating func header(_ type: Int, count: Int) {
        self.write(UInt16(4 + count))
        self.write(UInt16(type))
    }

    private mutating func write<Number: FixedWidthInteger & BitwiseCopyable>(_ number: Number) {
        self.bytes.storeBytes(of: number, toByteOffset: self.offset, as: Number.self)
        self.offset += MemoryLayout<Number>.size
    }
}
