/// Bytes summed up in a few, so that a change of one of them shows (FIPS 180-4).
struct SHA256: Sendable {
    private var words: InlineArray<8, UInt32> = [
        0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19,
    ]
    private var rest: [UInt8] = []
    private var length: UInt64 = 0

    /// Takes more bytes.
    mutating func add(_ bytes: some Sequence<UInt8>) { self.add(Array(bytes)) }

    /// Takes more bytes.
    mutating func add(_ bytes: [UInt8]) {
        self.length += UInt64(bytes.count)
        var start = 0
        if !self.rest.isEmpty {
            start = min(64 - self.rest.count, bytes.count)
            self.rest += bytes[..<start]
            guard self.rest.count == 64 else { return }
            self.mix(self.rest, at: 0)
            self.rest.removeAll(keepingCapacity: true)
        }
        while start + 64 <= bytes.count {
            self.mix(bytes, at: start)
            start += 64
        }
        self.rest += bytes[start...]
    }

    /// The sum of everything so far: 32 bytes.
    var sum: [UInt8] {
        var last = self
        let bits = self.length &* 8
        let zeros = (119 - self.rest.count) % 64
        last.add(
            [0x80] + [UInt8](repeating: 0, count: zeros)
                + (0..<8).map { UInt8(truncatingIfNeeded: bits >> (56 - 8 * $0)) })
        return last.words.indices.flatMap { place in
            (0..<4).map { UInt8(truncatingIfNeeded: last.words[place] >> (24 - 8 * $0)) }
        }
    }

    private mutating func mix(_ block: [UInt8], at start: Int) {
        let schedule = SHA256.schedule(block, at: start)
        var (a, b, c, d) = (self.words[0], self.words[1], self.words[2], self.words[3])
        var (e, f, g, h) = (self.words[4], self.words[5], self.words[6], self.words[7])
        for step in 0..<64 {
            let high = SHA256.turn(e, 6) ^ SHA256.turn(e, 11) ^ SHA256.turn(e, 25)
            let first = h &+ high &+ ((e & f) ^ (~e & g)) &+ SHA256.constants[step] &+ schedule[step]
            let low = SHA256.turn(a, 2) ^ SHA256.turn(a, 13) ^ SHA256.turn(a, 22)
            let second = low &+ ((a & b) ^ (a & c) ^ (b & c))
            h = g
            g = f
            f = e
            e = d &+ first
            d = c
            c = b
            b = a
            a = first &+ second
        }
        self.words[0] &+= a
        self.words[1] &+= b
        self.words[2] &+= c
        self.words[3] &+= d
        self.words[4] &+= e
        self.words[5] &+= f
        self.words[6] &+= g
        self.words[7] &+= h
    }

    private static func schedule(_ block: [UInt8], at start: Int) -> InlineArray<64, UInt32> {
        let bytes = block.span
        var schedule = InlineArray<64, UInt32>(repeating: 0)
        for step in 0..<16 {
            let place = start + 4 * step
            schedule[step] =
                UInt32(bytes[place]) << 24 | UInt32(bytes[place + 1]) << 16 | UInt32(bytes[place + 2]) << 8
                | UInt32(bytes[place + 3])
        }
        for step in 16..<64 {
            let (near, far) = (schedule[step - 2], schedule[step - 15])
            let low = SHA256.turn(far, 7) ^ SHA256.turn(far, 18) ^ far >> 3
            let high = SHA256.turn(near, 17) ^ SHA256.turn(near, 19) ^ near >> 10
            schedule[step] = schedule[step - 16] &+ low &+ schedule[step - 7] &+ high
        }
        return schedule
    }

    @inline(__always)
    private static func turn(_ word: UInt32, _ count: UInt32) -> UInt32 { word >> count | word << (32 - count) }

    private static let constants: InlineArray<64, UInt32> = [
        0x428a_2f98, 0x7137_4491, 0xb5c0_fbcf, 0xe9b5_dba5, 0x3956_c25b, 0x59f1_11f1, 0x923f_82a4, 0xab1c_5ed5,
        0xd807_aa98, 0x1283_5b01, 0x2431_85be, 0x550c_7dc3, 0x72be_5d74, 0x80de_b1fe, 0x9bdc_06a7, 0xc19b_f174,
        0xe49b_69c1, 0xefbe_4786, 0x0fc1_9dc6, 0x240c_a1cc, 0x2de9_2c6f, 0x4a74_84aa, 0x5cb0_a9dc, 0x76f9_88da,
        0x983e_5152, 0xa831_c66d, 0xb003_27c8, 0xbf59_7fc7, 0xc6e0_0bf3, 0xd5a7_9147, 0x06ca_6351, 0x1429_2967,
        0x27b7_0a85, 0x2e1b_2138, 0x4d2c_6dfc, 0x5338_0d13, 0x650a_7354, 0x766a_0abb, 0x81c2_c92e, 0x9272_2c85,
        0xa2bf_e8a1, 0xa81a_664b, 0xc24b_8b70, 0xc76c_51a3, 0xd192_e819, 0xd699_0624, 0xf40e_3585, 0x106a_a070,
        0x19a4_c116, 0x1e37_6c08, 0x2748_774c, 0x34b0_bcb5, 0x391c_0cb3, 0x4ed8_aa4a, 0x5b9c_ca4f, 0x682e_6ff3,
        0x748f_82ee, 0x78a5_636f, 0x84c8_7814, 0x8cc7_0208, 0x90be_fffa, 0xa450_6ceb, 0xbef9_a3f7, 0xc671_78f2,
    ]
}

/// The sum that HTTP's Digest scheme still asks for (RFC 1321); good for nothing else.
enum MD5 {
    /// The sum of some bytes: 16 bytes.
    static func sum(_ bytes: [UInt8]) -> [UInt8] {
        let bits = UInt64(bytes.count) &* 8
        let zeros = (119 - bytes.count % 64) % 64
        let padded =
            bytes + [0x80] + [UInt8](repeating: 0, count: zeros)
            + (0..<8).map { UInt8(truncatingIfNeeded: bits >> (8 * $0)) }
        var words: [UInt32] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476]
        for start in stride(from: 0, to: padded.count, by: 64) { self.mix(padded[start..<start + 64], into: &words) }
        return words.flatMap { word in (0..<4).map { UInt8(truncatingIfNeeded: word >> (8 * $0)) } }
    }

    private static func mix(_ block: ArraySlice<UInt8>, into words: inout [UInt32]) {
        let input = (0..<16).map { place in
            (0..<4).reduce(UInt32(0)) { $0 | UInt32(block[block.startIndex + 4 * place + $1]) << (8 * UInt32($1)) }
        }
        var (a, b, c, d) = (words[0], words[1], words[2], words[3])
        for step in 0..<64 {
            let (mixed, place) = self.round(step, b, c, d)
            let sum = a &+ mixed &+ self.constants[step] &+ input[place]
            let count = self.turns[step / 16 * 4 + step % 4]
            (a, d, c, b) = (d, c, b, b &+ (sum << count | sum >> (32 - count)))
        }
        for (position, word) in [a, b, c, d].enumerated() { words[position] &+= word }
    }

    private static func round(_ step: Int, _ b: UInt32, _ c: UInt32, _ d: UInt32) -> (UInt32, Int) {
        switch step / 16 {
        case 0: ((b & c) | (~b & d), step)
        case 1: ((d & b) | (~d & c), (5 * step + 1) % 16)
        case 2: (b ^ c ^ d, (3 * step + 5) % 16)
        default: (c ^ (b | ~d), 7 * step % 16)
        }
    }

    private static let turns: [UInt32] = [7, 12, 17, 22, 5, 9, 14, 20, 4, 11, 16, 23, 6, 10, 15, 21]

    private static let constants: [UInt32] = [
        0xd76a_a478, 0xe8c7_b756, 0x2420_70db, 0xc1bd_ceee, 0xf57c_0faf, 0x4787_c62a, 0xa830_4613, 0xfd46_9501,
        0x6980_98d8, 0x8b44_f7af, 0xffff_5bb1, 0x895c_d7be, 0x6b90_1122, 0xfd98_7193, 0xa679_438e, 0x49b4_0821,
        0xf61e_2562, 0xc040_b340, 0x265e_5a51, 0xe9b6_c7aa, 0xd62f_105d, 0x0244_1453, 0xd8a1_e681, 0xe7d3_fbc8,
        0x21e1_cde6, 0xc337_07d6, 0xf4d5_0d87, 0x455a_14ed, 0xa9e3_e905, 0xfcef_a3f8, 0x676f_02d9, 0x8d2a_4c8a,
        0xfffa_3942, 0x8771_f681, 0x6d9d_6122, 0xfde5_380c, 0xa4be_ea44, 0x4bde_cfa9, 0xf6bb_4b60, 0xbebf_bc70,
        0x289b_7ec6, 0xeaa1_27fa, 0xd4ef_3085, 0x0488_1d05, 0xd9d4_d039, 0xe6db_99e5, 0x1fa2_7cf8, 0xc4ac_5665,
        0xf429_2244, 0x432a_ff97, 0xab94_23a7, 0xfc93_a039, 0x655b_59c3, 0x8f0c_cc92, 0xffef_f47d, 0x8584_5dd1,
        0x6fa8_7e4f, 0xfe2c_e6e0, 0xa301_4314, 0x4e08_11a1, 0xf753_7e82, 0xbd3a_f235, 0x2ad7_d2bb, 0xeb86_d391,
    ]
}

extension [UInt8] {
    /// The bytes as hexadecimal digits in lower case.
    var hexadecimal: String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: self.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}
