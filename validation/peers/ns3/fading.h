// Fading over the path loss of a channel, drawn for each frame at each receiver, or with memory.

#pragma once

#include "ns3/core-module.h"
#include "ns3/wifi-module.h"

#include <string>

namespace peers
{

/// What the command lines say of fading.
struct Fading
{
    std::string kind = "none"; ///< none, nakagami, rayleigh or jakes
    double doppler = 80;       ///< the Doppler frequency of jakes, Hz

    /// Add the options to a command line.
    void Register(ns3::CommandLine& commandLine)
    {
        commandLine.AddValue("fading",
                             "none, nakagami (ns-3's defaults), rayleigh for each frame, or jakes "
                             "with memory",
                             kind);
        commandLine.AddValue("doppler", "Doppler frequency of jakes, Hz", doppler);
    }

    /// Add the model to a channel, after the laws of path loss that it has.
    void Add(ns3::YansWifiChannelHelper& channel) const
    {
        using namespace ns3;
        if (kind == "jakes")
        {
            Config::SetDefault("ns3::JakesProcess::DopplerFrequencyHz", DoubleValue(doppler));
            channel.AddPropagationLoss("ns3::JakesPropagationLossModel");
        }
        else if (kind == "rayleigh")
        {
            channel.AddPropagationLoss("ns3::NakagamiPropagationLossModel",
                                       "m0", DoubleValue(1),
                                       "m1", DoubleValue(1),
                                       "m2", DoubleValue(1));
        }
        else if (kind == "nakagami")
        {
            channel.AddPropagationLoss("ns3::NakagamiPropagationLossModel");
        }
        else
        {
            NS_ABORT_MSG_IF(kind != "none", "unknown fading " << kind);
        }
    }
};

} // namespace peers
