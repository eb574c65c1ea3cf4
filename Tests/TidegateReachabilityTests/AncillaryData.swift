internal import Testing

/// Bytes appended to every datagram of the kernel.
struct AncillaryData: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let bytes: [UInt8]
    var isMalformed = true

    static let all: [AncillaryData] = [
        AncillaryData(testDescription: "a header cut short", bytes: [40, 0, 0, 0, 16, 0]),
        AncillaryData(
            testDescription: "a length of nothing", bytes: RawMessage.make(16, length: 0, RawMessage.link())),
        AncillaryData(
            testDescription: "a length beyond the datagram",
            bytes: RawMessage.make(17, length: 4096, RawMessage.link())),
        AncillaryData(testDescription: "a link without its fixed part", bytes: RawMessage.make(17, [0, 0, 1, 0])),
        AncillaryData(testDescription: "an address without its fixed part", bytes: RawMessage.make(21, [2, 24])),
        AncillaryData(
            testDescription: "a route with a lying attribute", bytes: AncillaryData.route, isMalformed: false),
        AncillaryData(
            testDescription: "a port that leaves its bridge",
            bytes: RawMessage.make(17, RawMessage.link(family: 7)), isMalformed: false),
        AncillaryData(
            testDescription: "wireless extensions",
            bytes: RawMessage.make(16, RawMessage.link(change: 0) + [8, 0, 11, 0, 1, 2, 3, 4]), isMalformed: false),
        AncillaryData(
            testDescription: "a type that does not exist", bytes: RawMessage.make(4000, RawMessage.link()),
            isMalformed: false),
    ]

    // Only that there was a route counts: its attributes are never read, so they may say anything.
    private static let route = RawMessage.make(
        24, [2, 0, 0, 0, 254, 3, 0, 1] + RawMessage.bytes(UInt32(0)) + [64, 0, 5, 0, 10, 0, 0, 1])
}
