/// Where observations of a histogram are counted: cells so fine that classic buckets and native ones are both sums of
/// whole cells, so that an observation is counted once for both.
///
/// Native buckets are those of schema 3: eight to a power of two (Prometheus, native histograms).
final class HistogramLayout: Sendable {
    /// How many powers of two have native buckets.
    static let octaves = 30
    static let schema: Int64 = 3
    /// The cells that fit: the native buckets, one for everything below them, and one for each classic bound.
    static let capacity = 8 * HistogramLayout.octaves + 1 + HistogramLayout.maxBounds
    /// How many classic bounds there may be.
    static let maxBounds = 31

    /// The classic buckets' upper bounds, ascending, without the last one.
    let bounds: [Double]
    /// The power of two below which everything is counted as zero by native buckets.
    let lowestExponent: Int
    /// The cells' upper bounds, ascending; the last one is infinite.
    let ends: [Double]
    /// The classic bucket of each cell.
    let classic: [UInt8]
    /// The native bucket of each cell, counted from the lowest; 0 for zero.
    let native: [UInt16]
    // The first cell of each native bucket.
    private let first: [UInt16]

    init(bounds: [Double]) {
        let bounds = Array(bounds.filter(\.isFinite).prefix(HistogramLayout.maxBounds))
        let lowest = HistogramLayout.lowestExponent(for: bounds)
        self.bounds = bounds
        self.lowestExponent = lowest
        var (ends, classic, native, first): ([Double], [UInt8], [UInt16], [UInt16]) = ([], [], [], [])
        var bucket = 0
        let count = 8 * HistogramLayout.octaves
        for index in 0...count {
            first.append(UInt16(ends.count))
            let end = index == count ? .infinity : HistogramLayout.upperBound(of: index + 8 * lowest)
            while bucket < bounds.count, bounds[bucket] < end {
                ends.append(bounds[bucket])
                classic.append(UInt8(bucket))
                native.append(UInt16(index))
                bucket += 1
            }
            ends.append(end)
            classic.append(UInt8(bucket))
            native.append(UInt16(index))
            if bucket < bounds.count, bounds[bucket] == end { bucket += 1 }
        }
        (self.ends, self.classic, self.native, self.first) = (ends, classic, native, first)
    }

    /// The cell of an observation, which is a number.
    func cell(of value: Double) -> Int {
        var cell = Int(self.first[self.nativeBucket(of: value)])
        // Mostly no bound lies inside the native bucket, and never many do.
        while value > self.ends[cell] { cell += 1 }
        return cell
    }

    /// The native bucket's index in Prometheus's count, for buckets from 1 on.
    func key(of native: Int) -> Int64 { Int64(native + 8 * self.lowestExponent) }

    /// Everything up to here is zero for native buckets.
    var zeroThreshold: Double { HistogramLayout.upperBound(of: 8 * self.lowestExponent) }

    private func nativeBucket(of value: Double) -> Int {
        guard value > 0 else { return 0 }
        let bits = value.bitPattern
        let exponent = Int(bits >> 52) - 1023
        let fraction = bits & 0xF_FFFF_FFFF_FFFF
        guard exponent >= self.lowestExponent else { return 0 }
        guard exponent < self.lowestExponent + HistogramLayout.octaves else { return 8 * HistogramLayout.octaves }
        var step = fraction > 0 ? 1 : 0
        for position in 0..<7 where fraction > HistogramLayout.fractions[position] { step += 1 }
        return 8 * (exponent - self.lowestExponent) + step
    }

    // The middle of the classic bounds in the middle of the native buckets.
    private static func lowestExponent(for bounds: [Double]) -> Int {
        guard let low = bounds.first(where: { $0 > 0 })?.exponent, let high = bounds.last?.exponent else { return -15 }
        let slack = max(0, HistogramLayout.octaves - Int(high - low))
        return min(max(Int(low) - slack / 2, -1000), 1000 - HistogramLayout.octaves)
    }

    private static func upperBound(of key: Int) -> Double {
        let (octave, step) = (key >> 3, key & 7)
        let fraction = step == 0 ? 0 : HistogramLayout.fractions[step - 1]
        return Double(sign: .plus, exponent: octave, significand: 1)
            * Double(bitPattern: 0x3FF0_0000_0000_0000 | fraction)
    }

    // The fractions of 2^(1/8) to 2^(7/8), as they stand in a Double.
    private static let fractions: InlineArray<7, UInt64> = [
        0x172B_83C7_D517B, 0x306F_E0A3_1B715, 0x4BFD_AD53_62A27, 0x6A09_E667_F3BCD, 0x8ACE_5422_AA0DB,
        0xAE89_F995_AD3AD, 0xD581_8DCF_BA487,
    ]
}
