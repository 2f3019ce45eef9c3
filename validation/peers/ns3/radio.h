// The radio and the MAC that all ns-3 programs of the comparison share: 802.11b in ad hoc mode,
// two-ray ground, ranges in metres.

#pragma once

#include "ns3/core-module.h"
#include "ns3/mobility-module.h"
#include "ns3/network-module.h"
#include "ns3/wifi-module.h"

#include <cmath>
#include <cstdint>
#include <string>

namespace peers
{

/// What the command lines say of the radio.
struct RadioOptions
{
    std::string rate = "DsssRate1Mbps"; ///< data rate; everything else goes at 1 Mb/s
    bool rts = true;                    ///< RTS/CTS before every unicast frame, or never
    double range = 250;                 ///< reception range, m
    double sense = 550;                 ///< carrier sense range, m

    /// Add the options to a command line.
    void Register(ns3::CommandLine& commandLine)
    {
        commandLine.AddValue("rate", "data rate: DsssRate1Mbps, DsssRate2Mbps, DsssRate11Mbps",
                             rate);
        commandLine.AddValue("rts", "RTS/CTS before every unicast frame", rts);
        commandLine.AddValue("range", "reception range, m", range);
        commandLine.AddValue("sense", "carrier sense range, m", sense);
    }
};

constexpr double TX_POWER_DBM = 24.5;
constexpr double ANTENNA_HEIGHT_M = 1.5;

/// Power received over a distance beyond the crossover (86 m at 914 MHz).
inline double
TwoRayGroundDbm(double distance)
{
    return TX_POWER_DBM + 40 * std::log10(ANTENNA_HEIGHT_M) - 40 * std::log10(distance);
}

/// Install the radio on all nodes.
inline ns3::NetDeviceContainer
InstallRadio(const ns3::NodeContainer& nodes, const RadioOptions& options)
{
    using namespace ns3;
    Config::SetDefault("ns3::WifiMacQueue::MaxSize", QueueSizeValue(QueueSize("50p")));
    Config::SetDefault("ns3::WifiMacQueue::MaxDelay", TimeValue(Seconds(10)));
    Config::SetDefault("ns3::WifiRemoteStationManager::RtsCtsThreshold",
                       UintegerValue(options.rts ? 0 : 65535));

    YansWifiChannelHelper channel;
    channel.SetPropagationDelay("ns3::ConstantSpeedPropagationDelayModel");
    channel.AddPropagationLoss("ns3::TwoRayGroundPropagationLossModel",
                               "Frequency", DoubleValue(914e6),
                               "HeightAboveZ", DoubleValue(ANTENNA_HEIGHT_M));
    YansWifiPhyHelper phy;
    phy.SetChannel(channel.Create());
    phy.Set("TxPowerStart", DoubleValue(TX_POWER_DBM));
    phy.Set("TxPowerEnd", DoubleValue(TX_POWER_DBM));
    phy.Set("RxSensitivity", DoubleValue(TwoRayGroundDbm(options.sense)));
    phy.Set("CcaEdThreshold", DoubleValue(TwoRayGroundDbm(options.sense)));
    phy.SetPreambleDetectionModel("ns3::ThresholdPreambleDetectionModel",
                                  "MinimumRssi", DoubleValue(TwoRayGroundDbm(options.range)));

    WifiMacHelper mac;
    mac.SetType("ns3::AdhocWifiMac");
    WifiHelper wifi;
    wifi.SetStandard(WIFI_STANDARD_80211b);
    // Without flow control no queue disc is put above the queue of the MAC.
    wifi.DisableFlowControl();
    wifi.SetRemoteStationManager("ns3::ConstantRateWifiManager",
                                 "DataMode", StringValue(options.rate),
                                 "ControlMode", StringValue("DsssRate1Mbps"),
                                 "NonUnicastMode", StringValue("DsssRate1Mbps"));
    return wifi.Install(phy, mac, nodes);
}

/// Count every frame that any radio begins to send.
class FrameCounter
{
  public:
    explicit FrameCounter(const ns3::NetDeviceContainer& devices)
    {
        for (auto device = devices.Begin(); device != devices.End(); ++device)
        {
            ns3::DynamicCast<ns3::WifiNetDevice>(*device)->GetPhy()->TraceConnectWithoutContext(
                "PhyTxBegin", ns3::MakeCallback(&FrameCounter::OnTransmit, this));
        }
    }

    /// Frames counted so far.
    uint64_t Count() const
    {
        return m_count;
    }

  private:
    void OnTransmit(ns3::Ptr<const ns3::Packet>, double)
    {
        ++m_count;
    }

    uint64_t m_count = 0;
};

/// Fix the random streams: `run` is the number of the repetition.
inline void
SetRun(uint64_t run)
{
    ns3::RngSeedManager::SetSeed(12345);
    ns3::RngSeedManager::SetRun(run);
}

} // namespace peers
